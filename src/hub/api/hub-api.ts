import type { ActionContext } from '../action-context'
import { createActivationApi } from '../activations/activation-api'
import type { HubApi } from '../contract/hub'
import { refreshModels, refreshWarnings } from '../definitions/check-again'
import { createSweepApi } from '../sweep/sweep-api'
import { createConversationApi } from './conversation-api'
import { createGrantApi } from './grant-api'

/**
 * Creates the hub's API for other modules.
 *
 * @param open creates the context of one call, so that D1 cost is measured per call
 */
export const createHubApi = (open: () => ActionContext): HubApi => ({
  ...createActivationApi(open),
  ...createConversationApi(open),
  ...createGrantApi(open),
  ...createSweepApi(open),
  refreshModels: () => refreshModels(open()),
  refreshWarnings: (server) => refreshWarnings(open(), server),
})
