export interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

/** More lines than this are not compared one by one. */
const linesMax = 400

/** What is to be taken out of one text and put in to get the other, line by line. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n').slice(0, linesMax)
  const b = after.split('\n').slice(0, linesMax)
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

/** How many lines the ends of both texts share, in order, from each pair of lines on. */
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
