import type { ActivationDoor, SweepDoor } from '../contract'
import { createDb } from '../db'
import { commit } from './commit'
import { load } from './load'
import { renew } from './renew'
import { sweep } from './sweep'

export interface ActivationDoorDeps {
  binding: D1Database
  /** Of this hub's own keys, which an answer must not hold. */
  keyPrefix: string
  /** Publishes to live watchers; swallows failures, for it is a hint. */
  publish(topic: string, event: unknown): Promise<void>
}

/** The hub's side of an activation: LOAD, RENEW and COMMIT, one round trip each. */
export function createActivationDoor({
  binding,
  keyPrefix,
  publish,
}: ActivationDoorDeps): ActivationDoor & SweepDoor {
  return {
    load: (request) => load(createDb(binding), request),
    renew: (request) => renew(createDb(binding), request),
    commit: async (request) => {
      const answer = await commit(createDb(binding), request, keyPrefix)
      if (answer.replyId && request.reply) {
        const { postId } = request.reply
        void publish(`post:${postId}`, { type: 'comment', id: answer.replyId, post_id: postId })
      }
      return answer
    },
    sweep: (now) => sweep(createDb(binding), now),
    announce: (postId, { activationId, agent, doing, since }) =>
      publish(`post:${postId}`, {
        type: 'working',
        activation_id: activationId,
        agent,
        doing,
        since,
      }),
  }
}
