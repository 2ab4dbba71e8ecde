import type { Call } from '../http/route'
import { type Caller, replayErrors } from './actions'

/** Returns the caller of a route that writes. */
export const toCaller = (call: Call<unknown, unknown>): Caller => ({
  viewer: call.viewer(),
  reader: call.reader,
})

/** The same for what only reads: the viewer is read first, as the run says who may see it. */
export async function readCaller({ read, reader }: Call<unknown, unknown>): Promise<Caller> {
  const { viewer } = await read({})
  // A route of one's own things has refused a call without a key.
  if (!viewer) throw replayErrors.notFound()
  return { viewer, reader }
}
