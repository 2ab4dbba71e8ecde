import type { ModelAnswer } from './message'

/** A text that stopped at a length limit and is continued in a further call (L21). */
export const isCut = ({ text, calls, finish }: ModelAnswer): boolean =>
  finish === 'length' && calls.length === 0 && text.trim() !== ''
