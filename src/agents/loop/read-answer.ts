import type { FinishReason, ModelAnswer } from './message'

/** A text that stopped at a length limit and is continued in a further call (L21). */
export const isCut = ({ text, calls, finish }: ModelAnswer): boolean =>
  finish === 'length' && calls.length === 0 && text.trim() !== ''

/**
 * Nobody said that the answer is whole. A stream that breaks off can leave a call with its arguments
 * missing, which looks like one that takes none, so the calls in it do not run (L23).
 */
export const isUnexplained = (finish: FinishReason): boolean =>
  finish === 'interrupted' || finish === 'other'
