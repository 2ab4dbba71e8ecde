import { budgetAwareness } from './budget-awareness'
import type { Hook } from './hook'

/**
 * The hooks of this deployment, in the order they run. Yours goes here too: docs/hooks.md shows how.
 * Every agent has them all but those marked `isOptIn`; `hooks` in its definition switches them.
 */
export const hooks: readonly Hook[] = [budgetAwareness]
