import type { NewRun } from '../contract/coding-agents'

/** A runner, as far as the choice depends on it. */
export interface Candidate {
  id: string
  isConnected: boolean
  isDraining: boolean
  hasSandbox: boolean
  labels: readonly string[]
  programs: readonly { type: string }[]
  slots: number
  /** Slots in use. */
  used: number
  /** When it was last given a run, in milliseconds since the epoch; 0: never. */
  assignedAt: number
}

/** What a run needs of its runner. */
export type RunNeeds = Pick<NewRun, 'program' | 'builtin' | 'runs_on'> & {
  /** Ids of runners that could not take it. */
  refusedBy: readonly string[]
  /** The runner that has the session in which the run goes on; null: none is known. */
  home: string | null
}

export type RunnerChoice<Found> =
  | { kind: 'runner'; runner: Found }
  | { kind: 'busy' }
  | { kind: 'nobody' }

const isSuitable = (runner: Candidate, needs: RunNeeds): boolean =>
  runner.isConnected &&
  !runner.isDraining &&
  (runner.hasSandbox || needs.builtin === 'none') &&
  runner.programs.some(({ type }) => type === needs.program) &&
  needs.runs_on.every((label) => runner.labels.includes(label)) &&
  !needs.refusedBy.includes(runner.id)

const freeShare = ({ slots, used }: Candidate): number => (slots - used) / slots

/**
 * Chooses the runner of a run: of the suitable ones with a free slot the one that has its session, then the least
 * loaded, then the one that has waited longest. `busy`: the suitable ones have no free slot; `nobody`: none is suitable.
 */
export function chooseRunner<Found extends Candidate>(
  runners: readonly Found[],
  needs: RunNeeds,
): RunnerChoice<Found> {
  const isHome = ({ id }: Found): number => Number(id === needs.home)
  const suitable = runners.filter((runner) => isSuitable(runner, needs))
  const [best] = suitable
    .filter(({ slots, used }) => used < slots)
    .sort(
      (a, b) => isHome(b) - isHome(a) || freeShare(b) - freeShare(a) || a.assignedAt - b.assignedAt,
    )
  if (best) return { kind: 'runner', runner: best }
  return { kind: suitable.length > 0 ? 'busy' : 'nobody' }
}
