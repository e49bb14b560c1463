"""Ready RL jobs on known libraries: `recipe: grpo` and `recipe: ppo` in a spec.

A recipe is a module with plain functions (builds and steps, as a user would write them) and a dict `RECIPE` in the
form of a spec, found by the entry point group `dagrl.recipes`. Importing a recipe loads neither torch nor any RL
library: a spec is checked, and rewards are computed, without them.
"""
