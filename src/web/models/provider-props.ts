import type { ProviderView } from '../../hub/models/models-view'
import type { ModelProviderSummary } from '../../mcp-servers/contract/model-admin'
import type { TestShown } from './test-result'

export interface ProviderBlockProps {
  now: number
  state: ProviderView
  /** Null when nothing was set on this page. */
  stored: ModelProviderSummary | null
  /** What was typed into a rejected form. */
  typed: Record<string, string>
  test: TestShown | null
}

/** Labels of the fields of the form of address and default model. */
export const settingsLabels = {
  base_url: 'Base URL',
  allow_private: 'The server has a private address',
  default_model: 'Default model',
} as const
