import type { ActionContext } from '../action-context'
import { createActivationDoor } from '../activations/door'
import type { HubDoors } from '../contract'
import { createConversationDoor } from './conversation-door'
import { createGrantDoor } from './grant-door'

/**
 * The hub as the other rooms see it. `open` makes a context for one call, so that what a call costs
 * at the binding can be told apart.
 */
export const createHubDoors = (open: () => ActionContext): HubDoors => ({
  ...createActivationDoor(open),
  ...createConversationDoor(open),
  ...createGrantDoor(open),
})
