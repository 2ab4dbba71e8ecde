import type { ActionContext } from '../action-context'
import { createActivationDoor } from '../activations/door'
import type { HubDoors } from '../contract'
import { createConversationDoor } from './conversation-door'
import { createGrantDoor } from './grant-door'

/**
 * Creates the hub's API for other modules.
 *
 * @param open creates the context of one call, so that D1 cost is measured per call
 */
export const createHubDoors = (open: () => ActionContext): HubDoors => ({
  ...createActivationDoor(open),
  ...createConversationDoor(open),
  ...createGrantDoor(open),
})
