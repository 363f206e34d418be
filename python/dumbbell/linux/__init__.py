"""Linux data structures shared by several packages: socket tables and the agent's records."""
