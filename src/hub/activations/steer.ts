import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { SteeringItem, SteerRequest } from '../contract/hub'
import { steerStatements } from './steer-queries'

/** Takes the comments that arrived for a running activation, in one round trip. Idempotent. */
export async function steer(db: Db, request: SteerRequest): Promise<SteeringItem[]> {
  const { steering } = await batch(db, steerStatements(request))
  return steering
}
