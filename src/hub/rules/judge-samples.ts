/** The numbers of the lanes of a judge that compare a sample: with the answer of the baseline first, then with that of the draft. */
export const toJudgeSamples = (sample: number): [number, number] => [2 * sample - 1, 2 * sample]

/** Returns which sample a lane of a judge compares, by its own number, and whose answer it is shown first. */
export const readJudgeSample = (
  number: number,
): { sample: number; first: 'baseline' | 'candidate' } => ({
  sample: Math.ceil(number / 2),
  first: number % 2 === 1 ? 'baseline' : 'candidate',
})
