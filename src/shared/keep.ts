/**
 * Returns a function that makes something when it is first called, and keeps it. For what is costly and rarely needed:
 * whatever a module makes when it is loaded belongs to the start of each isolate. Formats load the platform's tables.
 */
export function keep<Made>(make: () => Made): () => Made {
  let kept: { made: Made } | undefined
  return () => {
    kept ??= { made: make() }
    return kept.made
  }
}
