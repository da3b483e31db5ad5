# A graph with a weight from a file and a constant of 100 elements that folding makes.
cat <<QIR
weights "weights.safetensors"
func @main() -> (f32[2,2], f32[100], f32[2]) {
  %w = weight "w"
  %b = weight "b"
  %k = const [$(seq -s ', ' 1 100)] : f32[100]
  %s = add %k, %k
  %c = const [1.0, -1.0] : f32[2]
  %t = add %b, %c
  return %w, %s, %t
}
QIR
