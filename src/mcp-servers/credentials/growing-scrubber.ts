import type { Scrubber } from './scrub'

/** A scrubber of secrets that become known during a call, such as a renewed token. */
export interface GrowingScrubber extends Scrubber {
  add(scrubber: Scrubber): void
}

export function createGrowingScrubber(): GrowingScrubber {
  const known: Scrubber[] = []
  const throughAll = (apply: (scrubber: Scrubber, text: string) => string) => (text: string) =>
    known.reduce((rest, scrubber) => apply(scrubber, rest), text)
  return {
    add: (scrubber) => void known.push(scrubber),
    text: throughAll((scrubber, text) => scrubber.text(text)),
    textTruncated: throughAll((scrubber, text) => scrubber.textTruncated(text)),
    exceptBase64: throughAll((scrubber, text) => scrubber.exceptBase64(text)),
    value: (value) => known.reduce((rest, scrubber) => scrubber.value(rest), value),
    parts() {
      const parts = new Map<Scrubber, (part: string) => string>()
      return throughAll((scrubber, text) => {
        const clean = parts.get(scrubber) ?? scrubber.parts()
        parts.set(scrubber, clean)
        return clean(text)
      })
    },
  }
}
