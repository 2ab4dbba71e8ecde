import type { FinishReason, ModelAnswer } from './message'

/**
 * Returns whether an answer is a text that reached its length limit and is continued in a further
 * call.
 */
export const isTruncated = ({ text, calls, finish }: ModelAnswer): boolean =>
  finish === 'length' && calls.length === 0 && text.trim() !== ''

/**
 * Returns whether the provider gave no reason that says the answer is complete. A broken stream can
 * leave a call without its arguments, which looks like a call that takes none, so the calls of such
 * an answer are not run.
 */
export const isUnknownEnd = (finish: FinishReason): boolean =>
  finish === 'interrupted' || finish === 'other'
