import { activationLimits } from '../../shared/config'
import type { Settings } from '../../shared/settings'
import type { CallTimeouts, ModelChoice } from './model-port'
import { isPrivateAddress } from './private-address'

/** Returns the timeouts of a call: of the definition, else of the hub, else for the server's address. */
export function chooseTimeouts(
  { timeouts }: ModelChoice,
  settings: Settings,
  baseUrl: string,
): CallTimeouts {
  const { modelFirstByteSeconds, modelFirstBytePrivateSeconds, modelBetweenBytesSeconds } =
    activationLimits
  const firstByteSeconds =
    settings.ROOKERY_MODEL_FIRST_BYTE_SECONDS ??
    (isPrivateAddress(baseUrl) ? modelFirstBytePrivateSeconds : modelFirstByteSeconds)
  const betweenBytesSeconds =
    settings.ROOKERY_MODEL_BETWEEN_BYTES_SECONDS ?? modelBetweenBytesSeconds
  return {
    firstByteMs: timeouts?.firstByteMs ?? firstByteSeconds * 1000,
    betweenBytesMs: timeouts?.betweenBytesMs ?? betweenBytesSeconds * 1000,
  }
}
