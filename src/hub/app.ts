import { Hono } from 'hono'
import { accountRoutes, invitationRoutes, peopleRoutes } from './accounts/routes'
import { definitionRoutes } from './agents/definition-routes'
import { knowledgeRoutes } from './agents/knowledge-routes'
import { modelRoutes } from './agents/model-routes'
import { runnerRoutes } from './agents/runner-routes'
import { approvalRoutes, standingRuleRoutes } from './approvals/routes'
import { budgetRoutes } from './budgets/routes'
import { commentRoutes } from './comments/routes'
import {
  communityRoutes,
  moderatorRoutes,
  openingRoutes,
  subscriptionRoutes,
} from './communities/routes'
import { createDialect } from './dialect/dialect'
import { dialectBase } from './dialect/operations'
import { dialectRoutes } from './dialect/own-routes'
import { grantRoutes } from './grants/routes'
import { toErrorResponse } from './http/errors'
import { guardEntry } from './http/guard-entry'
import type { HubDeps, HubEnv } from './http/hub-env'
import { mountRoutes } from './http/mount-routes'
import { mountOpenapi, toSummaries } from './http/openapi'
import { prepareRequest } from './http/prepare-request'
import type { Route } from './http/route'
import { mountSkill } from './http/skill'
import { notificationRoutes } from './inbox/notification-routes'
import { followingRoutes, inboxRoutes } from './inbox/routes'
import { mailRoutes } from './mail/routes'
import { mediaFileRoutes, mediaRoutes } from './media/routes'
import { dmRoutes } from './messages/routes'
import {
  banAppealRoutes,
  liftedLimitRoutes,
  moderationRoutes,
  replyLimitRoutes,
} from './moderation/routes'
import { adminLogRoutes, auditRoutes } from './operations/audit-routes'
import { backupRoutes } from './operations/backup-routes'
import { importRoutes } from './operations/import-routes'
import { mountProbes, systemRoutes } from './operations/system-routes'
import { postRoutes } from './posts/routes'
import { replayRoutes } from './replays/routes'
import { activationRoutes, runFeedbackRoutes, sessionRoutes } from './runs/routes'
import { explorationRoutes, taskRoutes } from './scheduling/routes'
import { searchRoutes } from './search/routes'
import { keyRoutes, serviceKeyRoutes } from './sign-in/routes'
import { setRoutes } from './trials/set-routes'
import { trialRoutes } from './trials/trial-routes'
import { triggerRoutes } from './triggers/routes'
import {
  approvalListRoutes,
  feedRoutes,
  previewRoutes,
  quietRoutes,
  schedulerRoutes,
} from './views/routes'
import { voteRoutes } from './votes/routes'
import { webhookRoutes } from './webhooks/routes'

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
  ...notificationRoutes,
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
  ...replayRoutes,
  ...setRoutes,
  ...trialRoutes,
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
  ...webhookRoutes,
  ...triggerRoutes,
  ...backupRoutes,
  ...mailRoutes,
  ...mediaRoutes,
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
  mountRoutes(app, mediaFileRoutes, '/media')
  mountRoutes(app, dialectRoutes, dialectBase)
  deps.pages?.(app, toSummaries(described))
  return app
}
