"""Contact laws, one sub-model a file: each declares its parameters, units and history.

A contact is composed of four: a normal law, a tangential law, rolling friction and cohesion. A new
law is one file that registers its class in one of the four tables of `base` and has, beside it, the
compiled function of its role:

  normal      force(p0, p1, p2, p3, xi, xi_dot, r_eff, m_eff) -> f_n, k_n, c_n
  tangential  force(p0, p1, p2, p3, D, V_t, f_n, k_n, c_n) -> F_t, D
  rolling     torque(p0, p1, p2, p3, A, W, f_n, k_n, r_eff, elapsed)
              -> T, A
  cohesion    pull(p0, p1, p2, p3, xi, r_eff, r_min) -> f_c

p0 to p3 are the numbers that the class makes from two materials. f_n > 0 pushes the two apart.
Vectors (D, V_t, F_t, A, W, T) are passed and returned as three numbers each.
"""
