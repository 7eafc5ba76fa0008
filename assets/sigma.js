// What the pages use of sigma.js and graphology, under one global name: sigma.
export { UndirectedGraph } from "graphology";
export { default as Sigma } from "sigma";
export { EdgeLineProgram, NodeProgram } from "sigma/rendering";
export { floatColor } from "sigma/utils";
