import { saveProgramSession } from './program-sessions'
import { saveTurn } from './save-turn'

/** Saves what later runs use of an activation that ends, once, in the transaction that ends it. */
export function saveEnded(...ended: Parameters<typeof saveTurn>): void {
  saveTurn(...ended)
  saveProgramSession(...ended)
}
