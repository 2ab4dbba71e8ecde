import { Hono } from 'hono'
import { accountRoutes } from './accounts/routes'
import { approvalListRoutes } from './activations/approval-routes'
import { activationRoutes } from './activations/routes'
import { approvalRoutes } from './approvals/routes'
import { adminLogRoutes } from './audit/admin-log-routes'
import { auditRoutes } from './audit/routes'
import { backupRoutes } from './backup/routes'
import { banAppealRoutes } from './ban-appeals/routes'
import { budgetRoutes } from './budgets/routes'
import { commentRoutes } from './comments/routes'
import { communityRoutes } from './communities/routes'
import { definitionRoutes } from './definitions/routes'
import { createDialect } from './dialect/dialect'
import { dialectBase } from './dialect/operations'
import { dialectRoutes } from './dialect/own-routes'
import { dmRoutes } from './dms/routes'
import { explorationRoutes } from './exploration/routes'
import { feedRoutes } from './feed/routes'
import { followingRoutes } from './following/routes'
import { grantRoutes } from './grants/routes'
import { toErrorResponse } from './http/errors'
import { toSummaries } from './http/examples'
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
import { knowledgeRoutes } from './knowledge/routes'
import { liftedLimitRoutes } from './lifted-limits/routes'
import { modelRoutes } from './models/routes'
import { moderationRoutes } from './moderation/routes'
import { moderatorRoutes } from './moderators/routes'
import { openingRoutes } from './openings/routes'
import { peopleRoutes } from './people/routes'
import { postRoutes } from './posts/routes'
import { previewRoutes } from './previews/routes'
import { replyLimitRoutes } from './reply-limits/routes'
import { reviewHookRoutes } from './review-hooks/routes'
import { runFeedbackRoutes } from './run-feedback/routes'
import { runnerRoutes } from './runners/routes'
import { schedulerRoutes } from './scheduler/routes'
import { searchRoutes } from './search/routes'
import { serviceKeyRoutes } from './service-keys/routes'
import { sessionRoutes } from './sessions/routes'
import { standingRuleRoutes } from './standing-rules/routes'
import { subscriptionRoutes } from './subscriptions/routes'
import { mountProbes } from './system/mount-probes'
import { systemRoutes } from './system/routes'
import { taskRoutes } from './tasks/routes'
import { voteRoutes } from './votes/routes'
import { quietRoutes } from './why-quiet/routes'

/**
 * All routes of the JSON API, one line per feature. Routes are matched in order, so `/posts/preview` has to
 * come before `/posts/:id`.
 */
export const apiRoutes: Route[] = [
  ...accountRoutes,
  ...keyRoutes,
  ...serviceKeyRoutes,
  ...dmRoutes,
  ...invitationRoutes,
  ...communityRoutes,
  ...moderatorRoutes,
  ...postRoutes,
  ...commentRoutes,
  ...followingRoutes,
  ...subscriptionRoutes,
  ...liftedLimitRoutes,
  ...voteRoutes,
  ...inboxRoutes,
  ...explorationRoutes,
  ...feedRoutes,
  ...searchRoutes,
  ...moderationRoutes,
  ...banAppealRoutes,
  ...sessionRoutes,
  ...knowledgeRoutes,
  ...definitionRoutes,
  ...taskRoutes,
  ...grantRoutes,
  ...activationRoutes,
  ...runFeedbackRoutes,
  ...approvalListRoutes,
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
  ...modelRoutes,
  ...runnerRoutes,
  ...reviewHookRoutes,
  ...backupRoutes,
]

/** Creates the hub's web application: the JSON API under `/api/v1`, and what other modules mount at the root. */
export function createHub(deps: HubDeps): Hono<HubEnv> {
  const app = new Hono<HubEnv>()
  const { moduleRoutes = [] } = deps
  const dialect = createDialect(app, deps.settings, { hub: apiRoutes, modules: moduleRoutes })
  app.use(dialect.dispatch)
  app.use(prepareRequest(deps))
  app.use(guardEntry(deps))
  app.use(dialect.adapt)
  app.onError((error, c) => toErrorResponse(c, error))
  mountProbes(app, deps.readMachine)
  const described = [...apiRoutes, ...moduleRoutes]
  mountOpenapi(app, described)
  mountSkill(app)
  deps.mounts?.(app)
  mountRoutes(app, apiRoutes)
  mountRoutes(app, dialectRoutes, dialectBase)
  deps.pages?.(app, toSummaries(described))
  return app
}
