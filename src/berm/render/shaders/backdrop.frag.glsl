#include "common.glsl"
#include "light.glsl"

out vec4 shown;

void main() {
  shown = vec4(backdrop(gl_FragCoord.xy), 1.0);
}
