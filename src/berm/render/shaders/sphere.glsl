// Where the ray through this pixel meets a grain.
in vec3 offset;
in vec2 disc;
flat in vec3 centre;
flat in float radius;
flat in vec3 colour;
flat in vec3 albedo;

// Normal of the sphere at the pixel. With c = centre and w = offset, at right angles to each other,
// the ray passes the centre at q. All is written in w, since the difference of large numbers
// would leave nothing of a small grain far away.
vec3 sphereNormal() {
  float c2 = dot(centre, centre);
  float w2 = dot(offset, offset);
  vec3 q = (centre * w2 - offset * c2) / (c2 + w2);
  float chord = sqrt(max(radius * radius - dot(q, q), 0.0));
  return normalize(-q - chord * normalize(centre + offset));
}

// Depth (0..1) of a point given from the eye.
float depthOf(vec3 point) {
  float z = dot(vec3(viewMatrix[0][2], viewMatrix[1][2], viewMatrix[2][2]), point);
  return 0.5 - 0.5 * (projectionMatrix[2][2] * z + projectionMatrix[3][2]) / z;
}
