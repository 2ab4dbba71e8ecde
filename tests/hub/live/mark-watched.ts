import { env } from 'cloudflare:workers'
import { postTopic } from '../../../src/hub/contract/live-event'
import { watchTopic } from '../../../src/hub/live/queries'
import { run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'

/** Notes that somebody is about to watch a thread, as its socket does. */
export const markWatched = (postId: string, now = Date.now()): Promise<void> =>
  run(createDb(env.DB), watchTopic(postTopic(postId), now))
