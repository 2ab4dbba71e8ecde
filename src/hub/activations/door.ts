import type { ActionContext } from '../action-context'
import type { ActivationDoor, SweepDoor } from '../contract'
import { giveScheduled } from '../exploration/sweep'
import { describeLoad } from '../exploration/tell-scheduler'
import { sayBudgets } from '../reports/actions'
import { commit } from './commit'
import { load } from './load'
import { park } from './park'
import { renew } from './renew'
import { sweep } from './sweep'

/** Creates the hub's API for activations: LOAD, RENEW, PARK and COMMIT, one round trip each. */
export const createActivationDoor = (open: () => ActionContext): ActivationDoor & SweepDoor => ({
  load: async (request) => {
    const { db, scheduler, defer } = open()
    const answer = await load(db, request)
    const event = describeLoad(request, answer)
    if (event) defer(scheduler.hear(event))
    return answer
  },
  park: (request) => park(open(), request),
  renew: (request) => renew(open().db, request),
  commit: async (request) => {
    const context = open()
    const { db, settings, live, scheduler, defer } = context
    const { answer, turn, hasCrossed } = await commit(db, request, settings.ROOKERY_KEY_PREFIX)
    if (hasCrossed) defer(sayBudgets(context))
    if (turn) defer(scheduler.hear(turn))
    if (answer.replyId && request.reply) {
      const { postId } = request.reply
      const commentEvent = { type: 'comment', id: answer.replyId, post_id: postId }
      defer(live.publish(`post:${postId}`, commentEvent))
    }
    return answer
  },
  sweep: (now, question) => sweep(open(), now, question),
  giveScheduled: (due, now) => giveScheduled(open(), due, now),
  announce: (postId, { activationId, agent, doing, since }) =>
    open().live.publish(`post:${postId}`, {
      type: 'working',
      activation_id: activationId,
      agent,
      doing,
      since,
    }),
})
