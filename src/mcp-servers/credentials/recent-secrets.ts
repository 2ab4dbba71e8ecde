import { outside } from '../../shared/config'
import { createScrubber, type Scrubber } from './scrub'

/** The credentials that this isolate used last, to redact text that does not come from tools. */
export interface RecentSecrets {
  /** Returns the scrubber of a credential and its parts, and keeps it; the oldest one is evicted. */
  scrubberFor(secrets: string[]): Scrubber
  text(text: string): string
}

export function createRecentSecrets(): RecentSecrets {
  const known = new Map<string, Scrubber>()
  return {
    scrubberFor(secrets) {
      const key = JSON.stringify(secrets)
      const scrubber = known.get(key) ?? createScrubber(...secrets)
      known.delete(key)
      known.set(key, scrubber)
      const [oldest] = known.keys()
      if (known.size > outside.knownSecretsMax && oldest !== undefined) known.delete(oldest)
      return scrubber
    },
    text: (text) => [...known.values()].reduce((rest, scrubber) => scrubber.text(rest), text),
  }
}
