import { outside } from '../../config'
import { createScrubber, type Scrubber } from './scrub'

/** The credentials that this isolate has opened lately, for what is written by other ways than tools. */
export interface KnownSecrets {
  /** Remembers it; the newest ones stay. */
  scrubberFor(secret: string): Scrubber
  text(text: string): string
}

export function createKnownSecrets(): KnownSecrets {
  const known = new Map<string, Scrubber>()
  return {
    scrubberFor(secret) {
      const scrubber = known.get(secret) ?? createScrubber(secret)
      known.delete(secret)
      known.set(secret, scrubber)
      const [oldest] = known.keys()
      if (known.size > outside.knownSecretsMax && oldest !== undefined) known.delete(oldest)
      return scrubber
    },
    text: (text) => [...known.values()].reduce((rest, scrubber) => scrubber.text(rest), text),
  }
}
