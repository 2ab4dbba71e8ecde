import { providerSettings, type Settings } from '../../shared/settings'

/** Returns true when no model provider is set up, so that every agent uses the offline model. */
export const isOfflineHub = (settings: Settings): boolean =>
  providerSettings.every((name) => !settings[name])
