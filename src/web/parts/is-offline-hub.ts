import type { Settings } from '../../shared/settings'

/** Returns true when no model provider is set up, so that every agent uses the offline model. */
export const isOfflineHub = (settings: Settings): boolean =>
  !settings.ANTHROPIC_API_KEY &&
  !settings.OPENAI_API_KEY &&
  !settings.OPENAI_COMPATIBLE_API_KEY &&
  !settings.OPENAI_COMPATIBLE_BASE_URL &&
  !settings.WORKERS_AI_API_KEY
