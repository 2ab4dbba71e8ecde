import type { ErrorDetail } from '../../shared/errors'
import type { Model } from '../models/model-port'
import type { YamlSource } from './yaml-source'

/** Warns of models that are named like one with a known price: that price is not theirs, so they have none. */
export const warnUnpriced = (models: Model[], source: YamlSource): ErrorDetail[] =>
  models.flatMap(({ id, similarTo }) =>
    similarTo === undefined
      ? []
      : [
          {
            path: source.locate(['brain', 'model']),
            message: `No price of ${id} is known, only that of ${similarTo}: budgets count its tokens and no dollars. An admin can set its price at /models`,
          },
        ],
  )
