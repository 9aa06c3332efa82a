// what: a state machine over characters
// threads: 4
// out: np.zeros(4, np.int32)
// in: np.frombuffer(b"12+3*4  9-5*3+1 8*8-8*8 1+1+1+1 ", np.int8)
// expect: [60, 13, 448, 4]
#include <metal_stdlib>
using namespace metal;

// Left to right, without precedence; a blank ends a text of eight characters.
kernel void test(device int* out, device const char* a, uint i [[thread_position_in_grid]]) {
  int value = 0, number = 0;
  char op = '+';
  bool done = false;
  for (int k = 0; k < 8 && !done; k++) {
    char c = a[8 * i + k];
    switch (c) {
      case ' ':
        done = true;
      case '+':
      case '-':
      case '*':
        switch (op) {
          case '+': value += number; break;
          case '-': value -= number; break;
          case '*': value *= number; break;
        }
        op = c;
        number = 0;
        break;
      default:
        number = number * 10 + (c - '0');
    }
  }
  out[i] = value;
}
