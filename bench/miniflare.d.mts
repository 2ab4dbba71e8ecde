/** Bundles a Worker's entry as the deployed one is bundled. */
export function bundle(entry: string): Promise<string>

/** Runs `measure` against a Worker with its own empty storage. */
export function withWorker<Result>(
  contents: string,
  durableObjects: Record<string, string>,
  measure: (url: URL, pid: number | undefined) => Promise<Result>,
): Promise<Result>
