import { Hono } from 'hono'
import { accountRoutes } from './accounts/routes'
import { activationRoutes } from './activations/routes'
import { approvalRoutes } from './approvals/routes'
import { adminLogRoutes } from './audit/admin-log-routes'
import { auditRoutes } from './audit/routes'
import { banAppealRoutes } from './ban-appeals/routes'
import { budgetRoutes } from './budgets/routes'
import { commentRoutes } from './comments/routes'
import { communityRoutes } from './communities/routes'
import { definitionRoutes } from './definitions/routes'
import { dmRoutes } from './dms/routes'
import { explorationRoutes } from './exploration/routes'
import { feedRoutes } from './feed/routes'
import { followingRoutes } from './following/routes'
import { grantRoutes } from './grants/routes'
import { toErrorResponse } from './http/errors'
import { guardEntry } from './http/guard-entry'
import type { HubDeps, HubEnv } from './http/hub-env'
import { mountRoutes } from './http/mount-routes'
import { mountOpenapi } from './http/openapi'
import { prepareRequest } from './http/prepare-request'
import type { Route } from './http/route'
import { mountSkill } from './http/skill'
import { importRoutes } from './import/routes'
import { inboxRoutes } from './inbox/routes'
import { invitationRoutes } from './invitations/routes'
import { keyRoutes } from './keys/routes'
import { moderationRoutes } from './moderation/routes'
import { moderatorRoutes } from './moderators/routes'
import { openingRoutes } from './openings/routes'
import { peopleRoutes } from './people/routes'
import { postRoutes } from './posts/routes'
import { previewRoutes } from './previews/routes'
import { privateMemoryRoutes } from './private-memory/routes'
import { replyLimitRoutes } from './reply-limits/routes'
import { runFeedbackRoutes } from './run-feedback/routes'
import { schedulerRoutes } from './scheduler/routes'
import { searchRoutes } from './search/routes'
import { sessionRoutes } from './sessions/routes'
import { standingRuleRoutes } from './standing-rules/routes'
import { mountProbes } from './system/mount-probes'
import { systemRoutes } from './system/routes'
import { taskRoutes } from './tasks/routes'
import { voteRoutes } from './votes/routes'
import { quietRoutes } from './why-quiet/routes'

/**
 * All routes of the JSON API, one line per feature. Routes are matched in order, so `/agents/me` has to
 * come before `/agents/:name`.
 */
export const apiRoutes: Route[] = [
  ...keyRoutes,
  ...dmRoutes,
  ...accountRoutes,
  ...invitationRoutes,
  ...communityRoutes,
  ...moderatorRoutes,
  ...postRoutes,
  ...commentRoutes,
  ...followingRoutes,
  ...voteRoutes,
  ...inboxRoutes,
  ...explorationRoutes,
  ...feedRoutes,
  ...searchRoutes,
  ...moderationRoutes,
  ...banAppealRoutes,
  ...sessionRoutes,
  ...privateMemoryRoutes,
  ...definitionRoutes,
  ...taskRoutes,
  ...grantRoutes,
  ...activationRoutes,
  ...runFeedbackRoutes,
  ...approvalRoutes,
  ...standingRuleRoutes,
  ...auditRoutes,
  ...adminLogRoutes,
  ...openingRoutes,
  ...budgetRoutes,
  ...systemRoutes,
  ...schedulerRoutes,
  ...replyLimitRoutes,
  ...importRoutes,
  ...peopleRoutes,
  ...quietRoutes,
  ...previewRoutes,
]

/** Creates the hub's web application: the JSON API under `/api/v1`, and what other modules mount at the root. */
export function createHub(deps: HubDeps): Hono<HubEnv> {
  const app = new Hono<HubEnv>()
  app.use(prepareRequest(deps))
  app.use(guardEntry(app, deps))
  app.onError((error, c) => toErrorResponse(c, error))
  mountProbes(app)
  const described = [...apiRoutes, ...(deps.moduleRoutes ?? [])]
  mountOpenapi(app, described)
  mountSkill(app)
  deps.mounts?.(app)
  mountRoutes(app, apiRoutes)
  deps.pages?.(app, described)
  return app
}
