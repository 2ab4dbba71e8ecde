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
import { registerAccountPages } from './accounts/account-page'
import { registerJoinPages } from './accounts/join-pages'
import { registerPeoplePages } from './accounts/people-pages'
import { registerAgentPages } from './agents/agents-page'
import { registerKnowsPages } from './agents/knows-page'
import { registerRunnerPages } from './agents/runners-page'
import { registerSchedulePages } from './agents/schedules-page'
import { registerTaskPages } from './agents/task-page'
import { registerApprovalPages } from './approvals/pages'
import { registerAdminLogPages } from './audit/admin-log-page'
import { registerAuditPages } from './audit/audit-page'
import { registerBackupPages } from './audit/backups-page'
import { registerBudgetPages } from './budgets/pages'
import { registerCommunityPages } from './communities/community-page'
import { registerDocsPages } from './docs/docs-page'
import type { GuideFiles } from './docs/guides'
import { registerFeeds } from './feeds/feeds'
import { registerAssets } from './frame/assets'
import { sendPageError } from './frame/send-page'
import { registerPolicyPages } from './grants/pages'
import { registerHomePages } from './home/home-page'
import { registerInboxPages } from './inbox/inbox-page'
import { registerAdminMailPages } from './mail/admin-mail-page'
import { registerMailLinkPages } from './mail/link-pages'
import { registerMessagePages } from './messages/messages-page'
import { registerModelPages } from './models/models-page'
import { registerReplyLimitPages } from './moderation/limits-page'
import { registerModerationPages } from './moderation/pages'
import { registerEditPages } from './posts/edit-page'
import { registerImagePages } from './posts/image-page'
import { registerThreadPages } from './posts/pages'
import { registerPreviewPages } from './posts/promise'
import { registerQuietPages } from './posts/quiet-page'
import { registerVersionPages } from './posts/versions-page'
import { registerVotePages } from './posts/vote-form'
import { registerComparePages } from './runs/compare-page'
import { registerLivePages } from './runs/live-pages'
import { registerReplayPages } from './runs/replay-pages'
import { registerActivationPages } from './runs/run-page'
import { registerRunPages } from './runs/runs-page'
import { registerSetPages } from './runs/set-pages'
import { registerTrialPages } from './runs/trial-page'
import { registerSchedulerPages } from './scheduling/scheduler-page'
import { registerSearchPages } from './search/search-page'
import { registerSettingsPages } from './settings/profile-page'
import { registerSignInPages } from './sign-in/pages'
import { registerConnectionPages } from './tools/connections-page'
import { registerCredentialPages } from './tools/credentials-page'
import { registerRemotePages } from './tools/remote-servers-page'

interface PageDeps {
  /** Credentials, services and remote servers, without the values of credentials. */
  toolAdmin: ToolAdminApi
  /** Model providers without their keys. */
  modelAdmin: ModelAdminApi
  /** The accounts that people have connected at remote servers, without their tokens. */
  accounts: ConnectedAccountsApi
  /** The guides. */
  docs: GuideFiles
}

/** Registers all pages, one line per feature. */
export function registerPages(
  app: Hono<HubEnv>,
  routes: RouteSummary[],
  { toolAdmin, modelAdmin, accounts, docs }: PageDeps,
): void {
  registerAssets(app)
  // Before the pages, whose paths theirs match.
  registerFeeds(app)
  registerHomePages(app)
  registerCommunityPages(app)
  registerThreadPages(app)
  registerImagePages(app)
  registerPreviewPages(app)
  registerEditPages(app)
  registerVersionPages(app)
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
  registerSetPages(app)
  registerReplayPages(app)
  registerTrialPages(app)
  registerComparePages(app)
  registerRunPages(app)
  registerApprovalPages(app)
  registerAuditPages(app)
  registerAdminLogPages(app)
  registerBackupPages(app)
  registerAdminMailPages(app)
  registerMailLinkPages(app)
  registerPolicyPages(app)
  registerCredentialPages(app, toolAdmin)
  registerRemotePages(app, toolAdmin)
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
  registerDocsPages(app, routes, docs)
  registerLivePages(app)
  app.notFound((c) =>
    asksForPage(c)
      ? sendPageError(c, notFound('page', 'Check the address.'))
      : toErrorResponse(c, httpErrors.unknownRoute(c.req.path)),
  )
}
