// Colours: sRGB, in which they are given and shown, and linear, in which light adds up.

vec3 toLinear(vec3 c) {
  return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(0.04045, c));
}

// sRGB's power of 1/2.4 as a sum of roots, which a processor draws faster; off by 5e-5 at most
// (fitted from where the straight part ends to 1).
vec3 toScreen(vec3 c) {
  c = clamp(c, 0.0, 1.0);
  vec3 root2 = sqrt(c);
  vec3 root4 = sqrt(root2);
  vec3 root8 = sqrt(root4);
  vec3 curve = 0.64237 * root2 + 0.71211 * root4 - 0.33687 * root8 - 0.01756 * c;
  return mix(12.92 * c, curve, step(0.0031308, c));
}
