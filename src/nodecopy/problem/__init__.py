"""What is to be solved: a graph, features and labels; splits; and a task, which hides labels."""
