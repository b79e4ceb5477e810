/** The vocabulary of the houses, shared by all folds. */
import type { PlacePlan } from './plan.js';

type Furniture = Omit<PlacePlan, 'room'>;

const surface = (name: string): Furniture => ({ name, kind: 'surface' });
const closed = (name: string): Furniture => ({ name, kind: 'container', state: 'closed' });
const open = (name: string): Furniture => ({ name, kind: 'container', state: 'open' });

/** Furniture by name of the room. The kitchen has everything a cook needs. */
export const furnitureOf: Readonly<Record<string, readonly Furniture[]>> = {
  kitchen: [
    closed('fridge'),
    surface('counter'),
    { ...surface('stove'), heat: 'fried' },
    { ...closed('oven'), heat: 'roasted' },
    { ...surface('grill'), heat: 'grilled' },
  ],
  pantry: [surface('shelf'), closed('crate')],
  'living room': [surface('sofa'), surface('coffee table')],
  bedroom: [surface('bed'), closed('wardrobe')],
  bathroom: [surface('sink'), closed('medicine cabinet')],
  corridor: [closed('shoe rack')],
  cellar: [closed('barrel'), surface('wine rack')],
  attic: [closed('trunk'), surface('rocking chair')],
  garage: [surface('workbench'), closed('toolbox')],
  garden: [surface('bench'), closed('shed')],
  greenhouse: [surface('potting table')],
  library: [surface('bookcase'), surface('reading desk')],
  laundry: [closed('washing machine'), open('laundry basket')],
  'dining room': [surface('dining table'), closed('sideboard')],
  study: [surface('desk'), closed('drawer')],
  balcony: [surface('deck chair')],
  nursery: [closed('toy chest'), surface('cot')],
  'music room': [surface('piano'), closed('instrument case')],
  hall: [surface('hat stand')],
  porch: [surface('swing'), closed('letter box')],
  storeroom: [closed('locker'), surface('rack')],
  terrace: [surface('garden table')],
  courtyard: [surface('stone well')],
  gallery: [surface('pedestal'), closed('display cabinet')],
};

export const roomNames: readonly string[] = Object.keys(furnitureOf);

export const doorNames: readonly string[] = [
  'oak door',
  'glass door',
  'iron door',
  'sliding door',
  'red door',
  'narrow door',
  'heavy door',
  'painted door',
  'wooden door',
  'screen door',
  'blue door',
  'creaky door',
];

export const foods: readonly string[] = [
  'carrot',
  'onion',
  'potato',
  'tomato',
  'pepper',
  'mushroom',
  'aubergine',
  'leek',
  'pumpkin',
  'apple',
  'pear',
  'banana',
  'salmon',
  'trout',
  'chicken',
  'sausage',
  'steak',
  'tofu',
  'cheese',
  'egg',
  'courgette',
  'cabbage',
  'beetroot',
  'parsnip',
];

/** Things without a purpose. */
export const clutter: readonly string[] = [
  'candle',
  'umbrella',
  'postcard',
  'feather',
  'marble',
  'teapot',
  'ribbon',
  'compass',
  'whistle',
  'button',
  'thimble',
  'seashell',
  'lantern',
  'dice cup',
  'magnet',
  'pinecone',
];

/** Where each household item belongs. */
export const homes: Readonly<Record<string, { readonly room: string; readonly place: string }>> = {
  'milk bottle': { room: 'kitchen', place: 'fridge' },
  'butter dish': { room: 'kitchen', place: 'fridge' },
  'flour bag': { room: 'pantry', place: 'shelf' },
  'jam jar': { room: 'pantry', place: 'shelf' },
  'winter coat': { room: 'bedroom', place: 'wardrobe' },
  shirt: { room: 'bedroom', place: 'wardrobe' },
  pillow: { room: 'bedroom', place: 'bed' },
  toothbrush: { room: 'bathroom', place: 'sink' },
  'pill box': { room: 'bathroom', place: 'medicine cabinet' },
  novel: { room: 'library', place: 'bookcase' },
  atlas: { room: 'library', place: 'bookcase' },
  hammer: { room: 'garage', place: 'toolbox' },
  screwdriver: { room: 'garage', place: 'toolbox' },
  rake: { room: 'garden', place: 'shed' },
  'teddy bear': { room: 'nursery', place: 'toy chest' },
  'toy train': { room: 'nursery', place: 'toy chest' },
  'dirty towel': { room: 'laundry', place: 'laundry basket' },
  'dirty sock': { room: 'laundry', place: 'laundry basket' },
  violin: { room: 'music room', place: 'instrument case' },
  'soup plate': { room: 'dining room', place: 'sideboard' },
  sandals: { room: 'corridor', place: 'shoe rack' },
  pencil: { room: 'study', place: 'drawer' },
  'top hat': { room: 'hall', place: 'hat stand' },
  'wine bottle': { room: 'cellar', place: 'wine rack' },
};
