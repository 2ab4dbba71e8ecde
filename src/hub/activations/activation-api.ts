import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { ActivationApi } from '../contract/hub'
import { postTopic } from '../contract/live-event'
import { toLoadEvent } from '../exploration/scheduler-events'
import { deleteChangedRequests } from '../inbox/changed-requests-queries'
import { publishToWatchers } from '../live/publish-to-watchers'
import { endOutage } from '../outages/actions'
import { deferPushes } from '../push/actions'
import { publishBudgetAlerts } from '../reports/actions'
import { commit } from './commit'
import { load } from './load'
import { insertNotice } from './notify-queries'
import { park } from './park'
import { renew } from './renew'
import { steer } from './steer'

/** Creates the hub's API for activations: LOAD, RENEW, STEER, PARK and COMMIT, one round trip each. */
export const createActivationApi = (open: () => ActionContext): ActivationApi => ({
  load: async (request) => {
    const context = open()
    const { scheduler, defer } = context
    const answer = await load(context, request)
    const event = toLoadEvent(request, answer)
    if (event) defer(scheduler.reportOutcome(event))
    return answer
  },
  dropChangedRequests: (agentId, ids) => run(open().db, deleteChangedRequests(agentId, ids)),
  notifyRequesters: async (request) => {
    const { db, clock } = open()
    await batch(db, { notice: insertNotice({ ...request, id: clock.newId() }) })
  },
  park: (request) => park(open(), request),
  endOutage: (address, now) => endOutage(open(), address, now),
  renew: (request) => renew(open(), request),
  readConnections: () => {
    const { db, models } = open()
    return run(db, models.selectConnections())
  },
  steer: (request) => steer(open().db, request),
  commit: async (request) => {
    const context = open()
    const { scheduler, defer } = context
    const { answer, exploration, hasCrossed, isPushed, isWatched } = await commit(context, request)
    if (hasCrossed) defer(publishBudgetAlerts(context))
    deferPushes(context, isPushed)
    if (exploration) defer(scheduler.reportOutcome(exploration))
    const postId = request.reply?.postId
    if (isWatched && answer.replyId && postId) {
      const event = { type: 'comment', id: answer.replyId, post_id: postId } as const
      defer(publishToWatchers(context, postTopic(postId), event))
    }
    return answer
  },
  publishProgress: async (postId, { activationId, agent, doing, since }) => {
    const event = { type: 'working', activation_id: activationId, agent, doing, since } as const
    await open().live.publish(postTopic(postId), event)
  },
})
