export interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

/** Lines beyond this number are compared as one block. */
const linesMax = 400

/** Returns the difference of two texts, line by line, including unchanged lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const [restOfA, restOfB] = [a.splice(linesMax), b.splice(linesMax)]
  return [...align(a, b), ...compareRest(restOfA, restOfB)]
}

function compareRest(a: string[], b: string[]): DiffLine[] {
  const signed = (lines: string[], sign: DiffLine['sign']) => lines.map((text) => ({ sign, text }))
  const isSame = a.length === b.length && a.every((line, i) => line === b[i])
  return isSame ? signed(a, ' ') : [...signed(a, '-'), ...signed(b, '+')]
}

function align(a: string[], b: string[]): DiffLine[] {
  const common = measureCommon(a, b)
  const at = (i: number, j: number) => common[i * (b.length + 1) + j] ?? 0
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [one, other] = [a[i] ?? '', b[j] ?? '']
    if (i < a.length && j < b.length && one === other) {
      lines.push({ sign: ' ', text: one })
      i++
      j++
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: one })
      i++
    } else {
      lines.push({ sign: '+', text: other })
      j++
    }
  }
  return lines
}

/** Returns the length of the longest common subsequence of both texts, from each pair of lines on. */
function measureCommon(a: string[], b: string[]): Uint16Array {
  const width = b.length + 1
  const common = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [down, right] = [common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0]
      const diagonal = common[(i + 1) * width + j + 1] ?? 0
      common[i * width + j] = a[i] === b[j] ? diagonal + 1 : Math.max(down, right)
    }
  }
  return common
}
