"""Speed of VTS and SP: growth, cost of improved Jacobi, and a C++ twin of both iterations."""
