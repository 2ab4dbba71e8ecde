import { run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { LiveEvent } from '../contract/live-event'
import { endWatching } from './queries'

/** Publishes to a topic that can have watchers, and notes when there turned out to be none. */
export async function publishToWatchers(
  { live, db, clock }: Pick<ActionContext, 'live' | 'db' | 'clock'>,
  topic: string,
  event: LiveEvent,
): Promise<void> {
  const isWatched = await live.publish(topic, event)
  if (!isWatched) await run(db, endWatching(topic, clock.now()))
}
