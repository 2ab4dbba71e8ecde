import type { ToolServer } from '../../../../src/mcp-servers/tool/define-tool'
import { translate } from './tools/translate'

/** Translations by DeepL. */
export const deeplServer: ToolServer = {
  name: 'deepl',
  description: 'Translations by DeepL.',
  services: {
    builtIn: (service) =>
      service === 'deepl'
        ? {
            baseUrl: 'https://api-free.deepl.com/v2',
            headers: { Authorization: 'DeepL-Auth-Key {credential}' },
          }
        : null,
    isSentInHeader: true,
  },
  tools: [translate],
}
