import { run } from '../../shared/db/batch'
import type { ActionContext } from '../database/action-context'
import { closeLane } from './lane-api'
import { selectRunningAmong } from './lane-queries'
import type { GoneLane } from './queries'

/** Ends those of the lanes that run, before they are deleted: what they have reserved counts as spent. */
export async function endLanes(context: ActionContext, lanes: GoneLane[]): Promise<void> {
  if (lanes.length === 0) return
  const ids = JSON.stringify(lanes.map(({ id }) => id))
  const running = await run(context.db, selectRunningAmong({ ids, now: context.clock.now() }))
  for (const lane of running) await closeLane(context, lane, 'The replay was deleted.')
}

/** Deletes what the objects of lanes store. An object that cannot be reached has lost its lane, so nobody can read it. */
export async function deleteLanes(
  { agents, log }: Pick<ActionContext, 'agents' | 'log'>,
  lanes: GoneLane[],
): Promise<void> {
  await Promise.all(
    lanes.map(({ id }) =>
      agents.replays
        .deleteLane(id)
        .catch((error: unknown) =>
          log.error('failed to delete a lane of a replay', { lane: id, error }),
        ),
    ),
  )
}
