// What the pages use of sigma.js and graphology, under one global name: sigma.
export { UndirectedGraph } from "graphology";
export { default as ForceAtlas2 } from "graphology-layout-forceatlas2/worker";
export { default as Sigma } from "sigma";
export { NodeProgram } from "sigma/rendering";
export { floatColor } from "sigma/utils";
