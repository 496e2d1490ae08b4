// A grain: one quad that just covers the outline of a sphere seen in perspective.
#include "common.glsl"
#include "colour.glsl"

in vec2 corner;     // of the quad, -1 or 1
in vec3 place;      // of the centre: world = origin + extent * place
in float size;      // radius = radiusRange.x + radiusRange.y * size, m
in float material;  // index
in float value;     // what the colour shows, in its unit
in float scatter;   // 0..1, a fixed number of each grain

uniform vec3 origin;
uniform vec3 extent;
uniform vec2 radiusRange;
uniform float pixelAngle;  // height of a pixel at distance 1
uniform int colourBy;      // 0: material, 1: value through the ramp
uniform vec2 valueRange;
uniform vec3 materialColours[32];  // sRGB
uniform sampler2D ramp;            // 256 x 1, sRGB

out vec3 offset;    // from the centre to this point of the quad, m
out vec2 disc;      // the same in outline radii
flat out vec3 centre;  // from the eye, m
flat out float radius;
flat out vec3 colour;  // sRGB
flat out vec3 albedo;  // the same, linear

void main() {
  centre = origin + extent * place - cameraPosition;
  radius = radiusRange.x + radiusRange.y * size;
  float distance2 = dot(centre, centre);
  float away = distance2 - radius * radius;
  if (away <= 0.0 || !(radius > 0.0)) {  // the eye is inside: nothing to see
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    return;
  }
  float far = sqrt(distance2);
  float outline = radius * far / sqrt(away);  // where the tangent cone cuts the quad's plane
  vec3 aim = centre / far;
  vec3 side = cross(aim, vec3(viewMatrix[0][1], viewMatrix[1][1], viewMatrix[2][1]));
  side = normalize(side + vec3(1e-12, 0.0, 0.0));
  vec3 rise = cross(side, aim);
  disc = corner * (1.0 + 1.5 * pixelAngle * far / outline);  // room for the soft edge
  offset = outline * (disc.x * side + disc.y * rise);
  if (colourBy == 0) {
    int which = clamp(int(material + 0.5), 0, 31);
    colour = materialColours[which] * (0.86 + 0.22 * scatter);
  } else {
    float share = (value - valueRange.x) / max(valueRange.y - valueRange.x, 1e-30);
    colour = texelFetch(ramp, ivec2(int(clamp(share, 0.0, 1.0) * 255.0 + 0.5), 0), 0).rgb;
  }
  albedo = toLinear(colour);
  gl_Position = projectionMatrix * vec4(mat3(viewMatrix) * (centre + offset), 1.0);
}
