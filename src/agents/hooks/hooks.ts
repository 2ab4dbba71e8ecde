import { budgetAwareness } from './budget-awareness'
import type { Hook } from './hook'

/**
 * The hooks of this deployment, in the order they run. Add yours here (docs/hooks.md).
 * Every agent has all hooks except those marked `isOptIn`; `hooks` in its definition changes that.
 */
export const hooks: readonly Hook[] = [budgetAwareness]
