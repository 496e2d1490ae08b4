// Light of a surface: a sun with a soft shadow, a sky above, the earth below. Linear colours.
#include "colour.glsl"
precision highp sampler2DShadow;

uniform vec3 up;            // against gravity
uniform vec3 sunDirection;  // towards the sun, unit
uniform vec3 sunColour;
uniform vec3 skyColour;
uniform vec3 earthColour;
uniform vec3 backdropTop;     // sRGB
uniform vec3 backdropBottom;  // sRGB
uniform vec2 viewport;        // size of the picture, pixels
uniform mat4 shadowMatrix;    // world to shadow map, all in 0..1
uniform float shadowTexel;    // 1 / width of the shadow map; 0: no shadows
uniform sampler2DShadow shadowMap;  // depth texture, linear filter, compare less or equal

// Share of the sun that reaches a point (world, m): two taps of 2 x 2 comparisons each.
float sunlight(vec3 point) {
  vec3 at = (shadowMatrix * vec4(point, 1.0)).xyz;
  vec2 d = 0.5 * vec2(shadowTexel, -shadowTexel);
  float lit = 0.5 * (texture(shadowMap, vec3(at.xy + d, at.z))
                     + texture(shadowMap, vec3(at.xy - d, at.z)));
  vec3 beyond = step(0.5, abs(at - 0.5));  // off the map there is no shadow
  return max(lit, max(beyond.x, max(beyond.y, max(beyond.z, step(shadowTexel, 0.0)))));
}

// Colour that leaves a matt surface of colour `albedo` with unit normal n at a point; lift (m)
// moves the point of the shadow test off the surface.
vec3 shade(vec3 albedo, vec3 n, vec3 point, float lift) {
  float facing = dot(n, sunDirection);
  float sun = facing > 0.0 ? facing * sunlight(point + lift * n) : 0.0;
  vec3 around = mix(earthColour, skyColour, 0.5 + 0.5 * dot(n, up));
  return albedo * (around + sun * sunColour);
}

// Backdrop at a pixel, sRGB.
vec3 backdrop(vec2 pixel) {
  return mix(backdropBottom, backdropTop, clamp(pixel.y / viewport.y, 0.0, 1.0));
}
