import type { Hono } from 'hono'
import {
  asksForPage,
  type HubEnv,
  httpErrors,
  type RouteSummary,
  toErrorResponse,
} from '../hub/http/page-entry'
import type { ConnectedAccountsApi } from '../mcp-servers/contract/connected-accounts'
import type { ModelAdminApi } from '../mcp-servers/contract/model-admin'
import type { ToolAdminApi } from '../mcp-servers/contract/tool-admin'
import { notFound } from '../shared/errors'
import { registerAccountPages } from './accounts/pages'
import { registerActivationPages } from './activations/pages'
import { registerAgentPages } from './agents/pages'
import { registerApprovalPages } from './approvals/pages'
import { registerAdminLogPages } from './audit/admin-log-pages'
import { registerAuditPages } from './audit/pages'
import { registerBudgetPages } from './budgets/pages'
import { registerCommunityPages } from './communities/pages'
import { registerConnectionPages } from './connections/pages'
import { registerMessagePages } from './dms/pages'
import { registerDocsPages } from './docs/pages'
import { registerAssets } from './frame/asset-routes'
import { sendPageError } from './frame/send-page'
import { registerPolicyPages } from './grants/pages'
import { registerHomePages } from './home/pages'
import { registerInboxPages } from './inbox/pages'
import { registerKnowsPages } from './knows/pages'
import { registerLivePages } from './live/pages'
import { registerModelPages } from './models/pages'
import { registerModerationPages } from './moderation/pages'
import { registerJoinPages } from './people/join-pages'
import { registerPeoplePages } from './people/pages'
import { registerEditPages } from './posts/edit-pages'
import { registerThreadPages } from './posts/pages'
import { registerPreviewPages } from './previews/pages'
import { registerReplyLimitPages } from './reply-limits/pages'
import { registerRunnerPages } from './runners/pages'
import { registerRunPages } from './runs/pages'
import { registerSchedulerPages } from './scheduler/pages'
import { registerSchedulePages } from './schedules/pages'
import { registerSearchPages } from './search/pages'
import { registerSettingsPages } from './settings/pages'
import { registerSignInPages } from './sign-in/pages'
import { registerTaskPages } from './tasks/pages'
import { registerToolAdminPages } from './tools/pages'
import { registerVotePages } from './votes/pages'
import { registerQuietPages } from './why-quiet/pages'

interface PageDeps {
  /** Credentials, services and remote servers, without the values of credentials. */
  toolAdmin: ToolAdminApi
  /** Model providers without their keys. */
  modelAdmin: ModelAdminApi
  /** The accounts that people have connected at remote servers, without their tokens. */
  accounts: ConnectedAccountsApi
}

/** Registers all pages, one line per feature. */
export function registerPages(
  app: Hono<HubEnv>,
  routes: RouteSummary[],
  { toolAdmin, modelAdmin, accounts }: PageDeps,
): void {
  registerAssets(app)
  registerHomePages(app)
  registerCommunityPages(app)
  registerThreadPages(app)
  registerPreviewPages(app)
  registerEditPages(app)
  registerModerationPages(app)
  registerVotePages(app)
  registerAccountPages(app)
  registerQuietPages(app)
  registerAgentPages(app)
  registerKnowsPages(app)
  registerSchedulePages(app)
  registerJoinPages(app)
  registerPeoplePages(app)
  registerTaskPages(app)
  registerActivationPages(app)
  registerRunPages(app)
  registerApprovalPages(app)
  registerAuditPages(app)
  registerAdminLogPages(app)
  registerPolicyPages(app)
  registerToolAdminPages(app, toolAdmin)
  registerModelPages(app, modelAdmin)
  registerBudgetPages(app)
  registerSchedulerPages(app)
  registerReplyLimitPages(app)
  registerRunnerPages(app)
  registerInboxPages(app)
  registerMessagePages(app)
  registerSearchPages(app)
  registerSignInPages(app)
  registerSettingsPages(app)
  registerConnectionPages(app, { toolAdmin, accounts })
  registerDocsPages(app, routes)
  registerLivePages(app)
  app.notFound((c) =>
    asksForPage(c)
      ? sendPageError(c, notFound('page', 'Check the address.'))
      : toErrorResponse(c, httpErrors.unknownRoute(c.req.path)),
  )
}
