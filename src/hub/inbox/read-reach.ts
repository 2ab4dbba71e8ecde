import { isBareCourtesy, isStop } from '../following/bare-words'

/**
 * How far a person's comment reaches agents that it does not name: `open` to those that follow the thread or
 * work there for the author, `silent` to none, because it asks nothing; a `stop` ends what they do.
 */
export type Reach = 'open' | 'silent' | 'stop'

/** Returns the reach of a person's comment in a thread. */
export const readReach = (text: string): Reach =>
  isStop(text) ? 'stop' : isBareCourtesy(text) ? 'silent' : 'open'
