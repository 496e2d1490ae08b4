// A grain: where the ray through this pixel meets the sphere, its depth and its light.
#include "common.glsl"
#include "light.glsl"

in vec3 offset;
in vec2 disc;
flat in vec3 centre;
flat in float radius;
flat in vec3 colour;

uniform float softEdge;  // 1: alpha is the share of the pixel that is covered; 0: all or nothing

out vec4 shown;

void main() {
  float reach = length(disc);
  float edge = softEdge > 0.0 ? clamp((1.0 - reach) / fwidth(reach) + 0.5, 0.0, 1.0)
                              : step(reach, 1.0);
  if (edge <= 0.0) discard;
  // with c = centre and w = offset, at right angles: the ray passes the centre at q. Written in w,
  // since the difference of large numbers would leave nothing of a small grain far away.
  float c2 = dot(centre, centre);
  float w2 = dot(offset, offset);
  vec3 q = (centre * w2 - offset * c2) / (c2 + w2);
  vec3 ray = normalize(centre + offset);
  float chord = sqrt(max(radius * radius - dot(q, q), 0.0));
  vec3 normal = normalize(-q - chord * ray);
  vec3 hit = centre + radius * normal;
  vec2 clip = (projectionMatrix * vec4(0.0, 0.0, (mat3(viewMatrix) * hit).z, 1.0)).zw;
  gl_FragDepth = 0.5 + 0.5 * clip.x / clip.y;
  // the side of a grain that faces its neighbours below gets less of the sky
  vec3 lit = shade(toLinear(colour), normal, hit + cameraPosition, 0.15 * radius);
  shown = vec4(toScreen(lit), edge);
}
