"""The 1,000 classes of ImageNet-1K in the standard order of their labels, by name and by wnid; the 200 of ImageNet-R.

The names are the words of each synset of WordNet 3.0, those that `ILSVRC/imagenet-1k` has on the Hub: the second crane,
the machine, is "crane2" there, since names of labels must differ. Models on the Hub call it "crane", as they call the
bird. A wnid is a WordNet id; label k of every model and data set in this order is the k-th of them, sorted. (The devkit
of ILSVRC2012 numbers the same classes 1 to 1,000 in another order.)

Source: Russakovsky et al. 2015, ILSVRC, `synset_words`; Princeton University, WordNet 3.0; Hendrycks et al. 2021, The
Many Faces of Robustness, the list of its `eval.py`.
"""

_NAMES = """
tench, Tinca tinca; goldfish, Carassius auratus; great white shark, white shark, man-eater, man-eating shark,
Carcharodon carcharias; tiger shark, Galeocerdo cuvieri; hammerhead, hammerhead shark; electric ray, crampfish,
numbfish, torpedo; stingray; cock; hen; ostrich, Struthio camelus; brambling, Fringilla montifringilla; goldfinch,
Carduelis carduelis; house finch, linnet, Carpodacus mexicanus; junco, snowbird; indigo bunting, indigo finch, indigo
bird, Passerina cyanea; robin, American robin, Turdus migratorius; bulbul; jay; magpie; chickadee; water ouzel,
dipper; kite; bald eagle, American eagle, Haliaeetus leucocephalus; vulture; great grey owl, great gray owl, Strix
nebulosa; European fire salamander, Salamandra salamandra; common newt, Triturus vulgaris; eft; spotted salamander,
Ambystoma maculatum; axolotl, mud puppy, Ambystoma mexicanum; bullfrog, Rana catesbeiana; tree frog, tree-frog; tailed
frog, bell toad, ribbed toad, tailed toad, Ascaphus trui; loggerhead, loggerhead turtle, Caretta caretta; leatherback
turtle, leatherback, leathery turtle, Dermochelys coriacea; mud turtle; terrapin; box turtle, box tortoise; banded
gecko; common iguana, iguana, Iguana iguana; American chameleon, anole, Anolis carolinensis; whiptail, whiptail
lizard; agama; frilled lizard, Chlamydosaurus kingi; alligator lizard; Gila monster, Heloderma suspectum; green
lizard, Lacerta viridis; African chameleon, Chamaeleo chamaeleon; Komodo dragon, Komodo lizard, dragon lizard, giant
lizard, Varanus komodoensis; African crocodile, Nile crocodile, Crocodylus niloticus; American alligator, Alligator
mississipiensis; triceratops; thunder snake, worm snake, Carphophis amoenus; ringneck snake, ring-necked snake, ring
snake; hognose snake, puff adder, sand viper; green snake, grass snake; king snake, kingsnake; garter snake, grass
snake; water snake; vine snake; night snake, Hypsiglena torquata; boa constrictor, Constrictor constrictor; rock
python, rock snake, Python sebae; Indian cobra, Naja naja; green mamba; sea snake; horned viper, cerastes, sand viper,
horned asp, Cerastes cornutus; diamondback, diamondback rattlesnake, Crotalus adamanteus; sidewinder, horned
rattlesnake, Crotalus cerastes; trilobite; harvestman, daddy longlegs, Phalangium opilio; scorpion; black and gold
garden spider, Argiope aurantia; barn spider, Araneus cavaticus; garden spider, Aranea diademata; black widow,
Latrodectus mactans; tarantula; wolf spider, hunting spider; tick; centipede; black grouse; ptarmigan; ruffed grouse,
partridge, Bonasa umbellus; prairie chicken, prairie grouse, prairie fowl; peacock; quail; partridge; African grey,
African gray, Psittacus erithacus; macaw; sulphur-crested cockatoo, Kakatoe galerita, Cacatua galerita; lorikeet;
coucal; bee eater; hornbill; hummingbird; jacamar; toucan; drake; red-breasted merganser, Mergus serrator; goose;
black swan, Cygnus atratus; tusker; echidna, spiny anteater, anteater; platypus, duckbill, duckbilled platypus,
duck-billed platypus, Ornithorhynchus anatinus; wallaby, brush kangaroo; koala, koala bear, kangaroo bear, native
bear, Phascolarctos cinereus; wombat; jellyfish; sea anemone, anemone; brain coral; flatworm, platyhelminth; nematode,
nematode worm, roundworm; conch; snail; slug; sea slug, nudibranch; chiton, coat-of-mail shell, sea cradle,
polyplacophore; chambered nautilus, pearly nautilus, nautilus; Dungeness crab, Cancer magister; rock crab, Cancer
irroratus; fiddler crab; king crab, Alaska crab, Alaskan king crab, Alaska king crab, Paralithodes camtschatica;
American lobster, Northern lobster, Maine lobster, Homarus americanus; spiny lobster, langouste, rock lobster,
crawfish, crayfish, sea crawfish; crayfish, crawfish, crawdad, crawdaddy; hermit crab; isopod; white stork, Ciconia
ciconia; black stork, Ciconia nigra; spoonbill; flamingo; little blue heron, Egretta caerulea; American egret, great
white heron, Egretta albus; bittern; crane; limpkin, Aramus pictus; European gallinule, Porphyrio porphyrio; American
coot, marsh hen, mud hen, water hen, Fulica americana; bustard; ruddy turnstone, Arenaria interpres; red-backed
sandpiper, dunlin, Erolia alpina; redshank, Tringa totanus; dowitcher; oystercatcher, oyster catcher; pelican; king
penguin, Aptenodytes patagonica; albatross, mollymawk; grey whale, gray whale, devilfish, Eschrichtius gibbosus,
Eschrichtius robustus; killer whale, killer, orca, grampus, sea wolf, Orcinus orca; dugong, Dugong dugon; sea lion;
Chihuahua; Japanese spaniel; Maltese dog, Maltese terrier, Maltese; Pekinese, Pekingese, Peke; Shih-Tzu; Blenheim
spaniel; papillon; toy terrier; Rhodesian ridgeback; Afghan hound, Afghan; basset, basset hound; beagle; bloodhound,
sleuthhound; bluetick; black-and-tan coonhound; Walker hound, Walker foxhound; English foxhound; redbone; borzoi,
Russian wolfhound; Irish wolfhound; Italian greyhound; whippet; Ibizan hound, Ibizan Podenco; Norwegian elkhound,
elkhound; otterhound, otter hound; Saluki, gazelle hound; Scottish deerhound, deerhound; Weimaraner; Staffordshire
bullterrier, Staffordshire bull terrier; American Staffordshire terrier, Staffordshire terrier, American pit bull
terrier, pit bull terrier; Bedlington terrier; Border terrier; Kerry blue terrier; Irish terrier; Norfolk terrier;
Norwich terrier; Yorkshire terrier; wire-haired fox terrier; Lakeland terrier; Sealyham terrier, Sealyham; Airedale,
Airedale terrier; cairn, cairn terrier; Australian terrier; Dandie Dinmont, Dandie Dinmont terrier; Boston bull,
Boston terrier; miniature schnauzer; giant schnauzer; standard schnauzer; Scotch terrier, Scottish terrier, Scottie;
Tibetan terrier, chrysanthemum dog; silky terrier, Sydney silky; soft-coated wheaten terrier; West Highland white
terrier; Lhasa, Lhasa apso; flat-coated retriever; curly-coated retriever; golden retriever; Labrador retriever;
Chesapeake Bay retriever; German short-haired pointer; vizsla, Hungarian pointer; English setter; Irish setter, red
setter; Gordon setter; Brittany spaniel; clumber, clumber spaniel; English springer, English springer spaniel; Welsh
springer spaniel; cocker spaniel, English cocker spaniel, cocker; Sussex spaniel; Irish water spaniel; kuvasz;
schipperke; groenendael; malinois; briard; kelpie; komondor; Old English sheepdog, bobtail; Shetland sheepdog,
Shetland sheep dog, Shetland; collie; Border collie; Bouvier des Flandres, Bouviers des Flandres; Rottweiler; German
shepherd, German shepherd dog, German police dog, alsatian; Doberman, Doberman pinscher; miniature pinscher; Greater
Swiss Mountain dog; Bernese mountain dog; Appenzeller; EntleBucher; boxer; bull mastiff; Tibetan mastiff; French
bulldog; Great Dane; Saint Bernard, St Bernard; Eskimo dog, husky; malamute, malemute, Alaskan malamute; Siberian
husky; dalmatian, coach dog, carriage dog; affenpinscher, monkey pinscher, monkey dog; basenji; pug, pug-dog;
Leonberg; Newfoundland, Newfoundland dog; Great Pyrenees; Samoyed, Samoyede; Pomeranian; chow, chow chow; keeshond;
Brabancon griffon; Pembroke, Pembroke Welsh corgi; Cardigan, Cardigan Welsh corgi; toy poodle; miniature poodle;
standard poodle; Mexican hairless; timber wolf, grey wolf, gray wolf, Canis lupus; white wolf, Arctic wolf, Canis
lupus tundrarum; red wolf, maned wolf, Canis rufus, Canis niger; coyote, prairie wolf, brush wolf, Canis latrans;
dingo, warrigal, warragal, Canis dingo; dhole, Cuon alpinus; African hunting dog, hyena dog, Cape hunting dog, Lycaon
pictus; hyena, hyaena; red fox, Vulpes vulpes; kit fox, Vulpes macrotis; Arctic fox, white fox, Alopex lagopus; grey
fox, gray fox, Urocyon cinereoargenteus; tabby, tabby cat; tiger cat; Persian cat; Siamese cat, Siamese; Egyptian cat;
cougar, puma, catamount, mountain lion, painter, panther, Felis concolor; lynx, catamount; leopard, Panthera pardus;
snow leopard, ounce, Panthera uncia; jaguar, panther, Panthera onca, Felis onca; lion, king of beasts, Panthera leo;
tiger, Panthera tigris; cheetah, chetah, Acinonyx jubatus; brown bear, bruin, Ursus arctos; American black bear, black
bear, Ursus americanus, Euarctos americanus; ice bear, polar bear, Ursus Maritimus, Thalarctos maritimus; sloth bear,
Melursus ursinus, Ursus ursinus; mongoose; meerkat, mierkat; tiger beetle; ladybug, ladybeetle, lady beetle, ladybird,
ladybird beetle; ground beetle, carabid beetle; long-horned beetle, longicorn, longicorn beetle; leaf beetle,
chrysomelid; dung beetle; rhinoceros beetle; weevil; fly; bee; ant, emmet, pismire; grasshopper, hopper; cricket;
walking stick, walkingstick, stick insect; cockroach, roach; mantis, mantid; cicada, cicala; leafhopper; lacewing,
lacewing fly; dragonfly, darning needle, devil's darning needle, sewing needle, snake feeder, snake doctor, mosquito
hawk, skeeter hawk; damselfly; admiral; ringlet, ringlet butterfly; monarch, monarch butterfly, milkweed butterfly,
Danaus plexippus; cabbage butterfly; sulphur butterfly, sulfur butterfly; lycaenid, lycaenid butterfly; starfish, sea
star; sea urchin; sea cucumber, holothurian; wood rabbit, cottontail, cottontail rabbit; hare; Angora, Angora rabbit;
hamster; porcupine, hedgehog; fox squirrel, eastern fox squirrel, Sciurus niger; marmot; beaver; guinea pig, Cavia
cobaya; sorrel; zebra; hog, pig, grunter, squealer, Sus scrofa; wild boar, boar, Sus scrofa; warthog; hippopotamus,
hippo, river horse, Hippopotamus amphibius; ox; water buffalo, water ox, Asiatic buffalo, Bubalus bubalis; bison; ram,
tup; bighorn, bighorn sheep, cimarron, Rocky Mountain bighorn, Rocky Mountain sheep, Ovis canadensis; ibex, Capra
ibex; hartebeest; impala, Aepyceros melampus; gazelle; Arabian camel, dromedary, Camelus dromedarius; llama; weasel;
mink; polecat, fitch, foulmart, foumart, Mustela putorius; black-footed ferret, ferret, Mustela nigripes; otter;
skunk, polecat, wood pussy; badger; armadillo; three-toed sloth, ai, Bradypus tridactylus; orangutan, orang,
orangutang, Pongo pygmaeus; gorilla, Gorilla gorilla; chimpanzee, chimp, Pan troglodytes; gibbon, Hylobates lar;
siamang, Hylobates syndactylus, Symphalangus syndactylus; guenon, guenon monkey; patas, hussar monkey, Erythrocebus
patas; baboon; macaque; langur; colobus, colobus monkey; proboscis monkey, Nasalis larvatus; marmoset; capuchin,
ringtail, Cebus capucinus; howler monkey, howler; titi, titi monkey; spider monkey, Ateles geoffroyi; squirrel monkey,
Saimiri sciureus; Madagascar cat, ring-tailed lemur, Lemur catta; indri, indris, Indri indri, Indri brevicaudatus;
Indian elephant, Elephas maximus; African elephant, Loxodonta africana; lesser panda, red panda, panda, bear cat, cat
bear, Ailurus fulgens; giant panda, panda, panda bear, coon bear, Ailuropoda melanoleuca; barracouta, snoek; eel;
coho, cohoe, coho salmon, blue jack, silver salmon, Oncorhynchus kisutch; rock beauty, Holocanthus tricolor; anemone
fish; sturgeon; gar, garfish, garpike, billfish, Lepisosteus osseus; lionfish; puffer, pufferfish, blowfish,
globefish; abacus; abaya; academic gown, academic robe, judge's robe; accordion, piano accordion, squeeze box;
acoustic guitar; aircraft carrier, carrier, flattop, attack aircraft carrier; airliner; airship, dirigible; altar;
ambulance; amphibian, amphibious vehicle; analog clock; apiary, bee house; apron; ashcan, trash can, garbage can,
wastebin, ash bin, ash-bin, ashbin, dustbin, trash barrel, trash bin; assault rifle, assault gun; backpack, back pack,
knapsack, packsack, rucksack, haversack; bakery, bakeshop, bakehouse; balance beam, beam; balloon; ballpoint,
ballpoint pen, ballpen, Biro; Band Aid; banjo; bannister, banister, balustrade, balusters, handrail; barbell; barber
chair; barbershop; barn; barometer; barrel, cask; barrow, garden cart, lawn cart, wheelbarrow; baseball; basketball;
bassinet; bassoon; bathing cap, swimming cap; bath towel; bathtub, bathing tub, bath, tub; beach wagon, station wagon,
wagon, estate car, beach waggon, station waggon, waggon; beacon, lighthouse, beacon light, pharos; beaker; bearskin,
busby, shako; beer bottle; beer glass; bell cote, bell cot; bib; bicycle-built-for-two, tandem bicycle, tandem;
bikini, two-piece; binder, ring-binder; binoculars, field glasses, opera glasses; birdhouse; boathouse; bobsled,
bobsleigh, bob; bolo tie, bolo, bola tie, bola; bonnet, poke bonnet; bookcase; bookshop, bookstore, bookstall;
bottlecap; bow; bow tie, bow-tie, bowtie; brass, memorial tablet, plaque; brassiere, bra, bandeau; breakwater, groin,
groyne, mole, bulwark, seawall, jetty; breastplate, aegis, egis; broom; bucket, pail; buckle; bulletproof vest; bullet
train, bullet; butcher shop, meat market; cab, hack, taxi, taxicab; caldron, cauldron; candle, taper, wax light;
cannon; canoe; can opener, tin opener; cardigan; car mirror; carousel, carrousel, merry-go-round, roundabout,
whirligig; carpenter's kit, tool kit; carton; car wheel; cash machine, cash dispenser, automated teller machine,
automatic teller machine, automated teller, automatic teller, ATM; cassette; cassette player; castle; catamaran; CD
player; cello, violoncello; cellular telephone, cellular phone, cellphone, cell, mobile phone; chain; chainlink fence;
chain mail, ring mail, mail, chain armor, chain armour, ring armor, ring armour; chain saw, chainsaw; chest;
chiffonier, commode; chime, bell, gong; china cabinet, china closet; Christmas stocking; church, church building;
cinema, movie theater, movie theatre, movie house, picture palace; cleaver, meat cleaver, chopper; cliff dwelling;
cloak; clog, geta, patten, sabot; cocktail shaker; coffee mug; coffeepot; coil, spiral, volute, whorl, helix;
combination lock; computer keyboard, keypad; confectionery, confectionary, candy store; container ship, containership,
container vessel; convertible; corkscrew, bottle screw; cornet, horn, trumpet, trump; cowboy boot; cowboy hat,
ten-gallon hat; cradle; crane2; crash helmet; crate; crib, cot; Crock Pot; croquet ball; crutch; cuirass; dam, dike,
dyke; desk; desktop computer; dial telephone, dial phone; diaper, nappy, napkin; digital clock; digital watch; dining
table, board; dishrag, dishcloth; dishwasher, dish washer, dishwashing machine; disk brake, disc brake; dock, dockage,
docking facility; dogsled, dog sled, dog sleigh; dome; doormat, welcome mat; drilling platform, offshore rig; drum,
membranophone, tympan; drumstick; dumbbell; Dutch oven; electric fan, blower; electric guitar; electric locomotive;
entertainment center; envelope; espresso maker; face powder; feather boa, boa; file, file cabinet, filing cabinet;
fireboat; fire engine, fire truck; fire screen, fireguard; flagpole, flagstaff; flute, transverse flute; folding
chair; football helmet; forklift; fountain; fountain pen; four-poster; freight car; French horn, horn; frying pan,
frypan, skillet; fur coat; garbage truck, dustcart; gasmask, respirator, gas helmet; gas pump, gasoline pump, petrol
pump, island dispenser; goblet; go-kart; golf ball; golfcart, golf cart; gondola; gong, tam-tam; gown; grand piano,
grand; greenhouse, nursery, glasshouse; grille, radiator grille; grocery store, grocery, food market, market;
guillotine; hair slide; hair spray; half track; hammer; hamper; hand blower, blow dryer, blow drier, hair dryer, hair
drier; hand-held computer, hand-held microcomputer; handkerchief, hankie, hanky, hankey; hard disc, hard disk, fixed
disk; harmonica, mouth organ, harp, mouth harp; harp; harvester, reaper; hatchet; holster; home theater, home theatre;
honeycomb; hook, claw; hoopskirt, crinoline; horizontal bar, high bar; horse cart, horse-cart; hourglass; iPod; iron,
smoothing iron; jack-o'-lantern; jean, blue jean, denim; jeep, landrover; jersey, T-shirt, tee shirt; jigsaw puzzle;
jinrikisha, ricksha, rickshaw; joystick; kimono; knee pad; knot; lab coat, laboratory coat; ladle; lampshade, lamp
shade; laptop, laptop computer; lawn mower, mower; lens cap, lens cover; letter opener, paper knife, paperknife;
library; lifeboat; lighter, light, igniter, ignitor; limousine, limo; liner, ocean liner; lipstick, lip rouge; Loafer;
lotion; loudspeaker, speaker, speaker unit, loudspeaker system, speaker system; loupe, jeweler's loupe; lumbermill,
sawmill; magnetic compass; mailbag, postbag; mailbox, letter box; maillot; maillot, tank suit; manhole cover; maraca;
marimba, xylophone; mask; matchstick; maypole; maze, labyrinth; measuring cup; medicine chest, medicine cabinet;
megalith, megalithic structure; microphone, mike; microwave, microwave oven; military uniform; milk can; minibus;
miniskirt, mini; minivan; missile; mitten; mixing bowl; mobile home, manufactured home; Model T; modem; monastery;
monitor; moped; mortar; mortarboard; mosque; mosquito net; motor scooter, scooter; mountain bike, all-terrain bike,
off-roader; mountain tent; mouse, computer mouse; mousetrap; moving van; muzzle; nail; neck brace; necklace; nipple;
notebook, notebook computer; obelisk; oboe, hautboy, hautbois; ocarina, sweet potato; odometer, hodometer, mileometer,
milometer; oil filter; organ, pipe organ; oscilloscope, scope, cathode-ray oscilloscope, CRO; overskirt; oxcart;
oxygen mask; packet; paddle, boat paddle; paddlewheel, paddle wheel; padlock; paintbrush; pajama, pyjama, pj's,
jammies; palace; panpipe, pandean pipe, syrinx; paper towel; parachute, chute; parallel bars, bars; park bench;
parking meter; passenger car, coach, carriage; patio, terrace; pay-phone, pay-station; pedestal, plinth, footstall;
pencil box, pencil case; pencil sharpener; perfume, essence; Petri dish; photocopier; pick, plectrum, plectron;
pickelhaube; picket fence, paling; pickup, pickup truck; pier; piggy bank, penny bank; pill bottle; pillow; ping-pong
ball; pinwheel; pirate, pirate ship; pitcher, ewer; plane, carpenter's plane, woodworking plane; planetarium; plastic
bag; plate rack; plow, plough; plunger, plumber's helper; Polaroid camera, Polaroid Land camera; pole; police van,
police wagon, paddy wagon, patrol wagon, wagon, black Maria; poncho; pool table, billiard table, snooker table; pop
bottle, soda bottle; pot, flowerpot; potter's wheel; power drill; prayer rug, prayer mat; printer; prison, prison
house; projectile, missile; projector; puck, hockey puck; punching bag, punch bag, punching ball, punchball; purse;
quill, quill pen; quilt, comforter, comfort, puff; racer, race car, racing car; racket, racquet; radiator; radio,
wireless; radio telescope, radio reflector; rain barrel; recreational vehicle, RV, R.V.; reel; reflex camera;
refrigerator, icebox; remote control, remote; restaurant, eating house, eating place, eatery; revolver, six-gun,
six-shooter; rifle; rocking chair, rocker; rotisserie; rubber eraser, rubber, pencil eraser; rugby ball; rule, ruler;
running shoe; safe; safety pin; saltshaker, salt shaker; sandal; sarong; sax, saxophone; scabbard; scale, weighing
machine; school bus; schooner; scoreboard; screen, CRT screen; screw; screwdriver; seat belt, seatbelt; sewing
machine; shield, buckler; shoe shop, shoe-shop, shoe store; shoji; shopping basket; shopping cart; shovel; shower cap;
shower curtain; ski; ski mask; sleeping bag; slide rule, slipstick; sliding door; slot, one-armed bandit; snorkel;
snowmobile; snowplow, snowplough; soap dispenser; soccer ball; sock; solar dish, solar collector, solar furnace;
sombrero; soup bowl; space bar; space heater; space shuttle; spatula; speedboat; spider web, spider's web; spindle;
sports car, sport car; spotlight, spot; stage; steam locomotive; steel arch bridge; steel drum; stethoscope; stole;
stone wall; stopwatch, stop watch; stove; strainer; streetcar, tram, tramcar, trolley, trolley car; stretcher; studio
couch, day bed; stupa, tope; submarine, pigboat, sub, U-boat; suit, suit of clothes; sundial; sunglass; sunglasses,
dark glasses, shades; sunscreen, sunblock, sun blocker; suspension bridge; swab, swob, mop; sweatshirt; swimming
trunks, bathing trunks; swing; switch, electric switch, electrical switch; syringe; table lamp; tank, army tank,
armored combat vehicle, armoured combat vehicle; tape player; teapot; teddy, teddy bear; television, television
system; tennis ball; thatch, thatched roof; theater curtain, theatre curtain; thimble; thresher, thrasher, threshing
machine; throne; tile roof; toaster; tobacco shop, tobacconist shop, tobacconist; toilet seat; torch; totem pole; tow
truck, tow car, wrecker; toyshop; tractor; trailer truck, tractor trailer, trucking rig, rig, articulated lorry, semi;
tray; trench coat; tricycle, trike, velocipede; trimaran; tripod; triumphal arch; trolleybus, trolley coach, trackless
trolley; trombone; tub, vat; turnstile; typewriter keyboard; umbrella; unicycle, monocycle; upright, upright piano;
vacuum, vacuum cleaner; vase; vault; velvet; vending machine; vestment; viaduct; violin, fiddle; volleyball; waffle
iron; wall clock; wallet, billfold, notecase, pocketbook; wardrobe, closet, press; warplane, military plane;
washbasin, handbasin, washbowl, lavabo, wash-hand basin; washer, automatic washer, washing machine; water bottle;
water jug; water tower; whiskey jug; whistle; wig; window screen; window shade; Windsor tie; wine bottle; wing; wok;
wooden spoon; wool, woolen, woollen; worm fence, snake fence, snake-rail fence, Virginia fence; wreck; yawl; yurt; web
site, website, internet site, site; comic book; crossword puzzle, crossword; street sign; traffic light, traffic
signal, stoplight; book jacket, dust cover, dust jacket, dust wrapper; menu; plate; guacamole; consomme; hot pot,
hotpot; trifle; ice cream, icecream; ice lolly, lolly, lollipop, popsicle; French loaf; bagel, beigel; pretzel;
cheeseburger; hotdog, hot dog, red hot; mashed potato; head cabbage; broccoli; cauliflower; zucchini, courgette;
spaghetti squash; acorn squash; butternut squash; cucumber, cuke; artichoke, globe artichoke; bell pepper; cardoon;
mushroom; Granny Smith; strawberry; orange; lemon; fig; pineapple, ananas; banana; jackfruit, jak, jack; custard
apple; pomegranate; hay; carbonara; chocolate sauce, chocolate syrup; dough; meat loaf, meatloaf; pizza, pizza pie;
potpie; burrito; red wine; espresso; cup; eggnog; alp; bubble; cliff, drop, drop-off; coral reef; geyser; lakeside,
lakeshore; promontory, headland, head, foreland; sandbar, sand bar; seashore, coast, seacoast, sea-coast; valley,
vale; volcano; ballplayer, baseball player; groom, bridegroom; scuba diver; rapeseed; daisy; yellow lady's slipper,
yellow lady-slipper, Cypripedium calceolus, Cypripedium parviflorum; corn; acorn; hip, rose hip, rosehip; buckeye,
horse chestnut, conker; coral fungus; agaric; gyromitra; stinkhorn, carrion fungus; earthstar; hen-of-the-woods, hen
of the woods, Polyporus frondosus, Grifola frondosa; bolete; ear, spike, capitulum; toilet tissue, toilet paper,
bathroom tissue
"""

IMAGENET_1K_NAMES: tuple[str, ...] = tuple(" ".join(_NAMES.split()).split("; "))


_IMAGENET_1K = """
01440764 01443537 01484850 01491361 01494475 01496331 01498041 01514668 01514859 01518878 01530575 01531178 01532829
01534433 01537544 01558993 01560419 01580077 01582220 01592084 01601694 01608432 01614925 01616318 01622779 01629819
01630670 01631663 01632458 01632777 01641577 01644373 01644900 01664065 01665541 01667114 01667778 01669191 01675722
01677366 01682714 01685808 01687978 01688243 01689811 01692333 01693334 01694178 01695060 01697457 01698640 01704323
01728572 01728920 01729322 01729977 01734418 01735189 01737021 01739381 01740131 01742172 01744401 01748264 01749939
01751748 01753488 01755581 01756291 01768244 01770081 01770393 01773157 01773549 01773797 01774384 01774750 01775062
01776313 01784675 01795545 01796340 01797886 01798484 01806143 01806567 01807496 01817953 01818515 01819313 01820546
01824575 01828970 01829413 01833805 01843065 01843383 01847000 01855032 01855672 01860187 01871265 01872401 01873310
01877812 01882714 01883070 01910747 01914609 01917289 01924916 01930112 01943899 01944390 01945685 01950731 01955084
01968897 01978287 01978455 01980166 01981276 01983481 01984695 01985128 01986214 01990800 02002556 02002724 02006656
02007558 02009229 02009912 02011460 02012849 02013706 02017213 02018207 02018795 02025239 02027492 02028035 02033041
02037110 02051845 02056570 02058221 02066245 02071294 02074367 02077923 02085620 02085782 02085936 02086079 02086240
02086646 02086910 02087046 02087394 02088094 02088238 02088364 02088466 02088632 02089078 02089867 02089973 02090379
02090622 02090721 02091032 02091134 02091244 02091467 02091635 02091831 02092002 02092339 02093256 02093428 02093647
02093754 02093859 02093991 02094114 02094258 02094433 02095314 02095570 02095889 02096051 02096177 02096294 02096437
02096585 02097047 02097130 02097209 02097298 02097474 02097658 02098105 02098286 02098413 02099267 02099429 02099601
02099712 02099849 02100236 02100583 02100735 02100877 02101006 02101388 02101556 02102040 02102177 02102318 02102480
02102973 02104029 02104365 02105056 02105162 02105251 02105412 02105505 02105641 02105855 02106030 02106166 02106382
02106550 02106662 02107142 02107312 02107574 02107683 02107908 02108000 02108089 02108422 02108551 02108915 02109047
02109525 02109961 02110063 02110185 02110341 02110627 02110806 02110958 02111129 02111277 02111500 02111889 02112018
02112137 02112350 02112706 02113023 02113186 02113624 02113712 02113799 02113978 02114367 02114548 02114712 02114855
02115641 02115913 02116738 02117135 02119022 02119789 02120079 02120505 02123045 02123159 02123394 02123597 02124075
02125311 02127052 02128385 02128757 02128925 02129165 02129604 02130308 02132136 02133161 02134084 02134418 02137549
02138441 02165105 02165456 02167151 02168699 02169497 02172182 02174001 02177972 02190166 02206856 02219486 02226429
02229544 02231487 02233338 02236044 02256656 02259212 02264363 02268443 02268853 02276258 02277742 02279972 02280649
02281406 02281787 02317335 02319095 02321529 02325366 02326432 02328150 02342885 02346627 02356798 02361337 02363005
02364673 02389026 02391049 02395406 02396427 02397096 02398521 02403003 02408429 02410509 02412080 02415577 02417914
02422106 02422699 02423022 02437312 02437616 02441942 02442845 02443114 02443484 02444819 02445715 02447366 02454379
02457408 02480495 02480855 02481823 02483362 02483708 02484975 02486261 02486410 02487347 02488291 02488702 02489166
02490219 02492035 02492660 02493509 02493793 02494079 02497673 02500267 02504013 02504458 02509815 02510455 02514041
02526121 02536864 02606052 02607072 02640242 02641379 02643566 02655020 02666196 02667093 02669723 02672831 02676566
02687172 02690373 02692877 02699494 02701002 02704792 02708093 02727426 02730930 02747177 02749479 02769748 02776631
02777292 02782093 02783161 02786058 02787622 02788148 02790996 02791124 02791270 02793495 02794156 02795169 02797295
02799071 02802426 02804414 02804610 02807133 02808304 02808440 02814533 02814860 02815834 02817516 02823428 02823750
02825657 02834397 02835271 02837789 02840245 02841315 02843684 02859443 02860847 02865351 02869837 02870880 02871525
02877765 02879718 02883205 02892201 02892767 02894605 02895154 02906734 02909870 02910353 02916936 02917067 02927161
02930766 02939185 02948072 02950826 02951358 02951585 02963159 02965783 02966193 02966687 02971356 02974003 02977058
02978881 02979186 02980441 02981792 02988304 02992211 02992529 02999410 03000134 03000247 03000684 03014705 03016953
03017168 03018349 03026506 03028079 03032252 03041632 03042490 03045698 03047690 03062245 03063599 03063689 03065424
03075370 03085013 03089624 03095699 03100240 03109150 03110669 03124043 03124170 03125729 03126707 03127747 03127925
03131574 03133878 03134739 03141823 03146219 03160309 03179701 03180011 03187595 03188531 03196217 03197337 03201208
03207743 03207941 03208938 03216828 03218198 03220513 03223299 03240683 03249569 03250847 03255030 03259280 03271574
03272010 03272562 03290653 03291819 03297495 03314780 03325584 03337140 03344393 03345487 03347037 03355925 03372029
03376595 03379051 03384352 03388043 03388183 03388549 03393912 03394916 03400231 03404251 03417042 03424325 03425413
03443371 03444034 03445777 03445924 03447447 03447721 03450230 03452741 03457902 03459775 03461385 03467068 03476684
03476991 03478589 03481172 03482405 03483316 03485407 03485794 03492542 03494278 03495258 03496892 03498962 03527444
03529860 03530642 03532672 03534580 03535780 03538406 03544143 03584254 03584829 03590841 03594734 03594945 03595614
03598930 03599486 03602883 03617480 03623198 03627232 03630383 03633091 03637318 03642806 03649909 03657121 03658185
03661043 03662601 03666591 03670208 03673027 03676483 03680355 03690938 03691459 03692522 03697007 03706229 03709823
03710193 03710637 03710721 03717622 03720891 03721384 03724870 03729826 03733131 03733281 03733805 03742115 03743016
03759954 03761084 03763968 03764736 03769881 03770439 03770679 03773504 03775071 03775546 03776460 03777568 03777754
03781244 03782006 03785016 03786901 03787032 03788195 03788365 03791053 03792782 03792972 03793489 03794056 03796401
03803284 03804744 03814639 03814906 03825788 03832673 03837869 03838899 03840681 03841143 03843555 03854065 03857828
03866082 03868242 03868863 03871628 03873416 03874293 03874599 03876231 03877472 03877845 03884397 03887697 03888257
03888605 03891251 03891332 03895866 03899768 03902125 03903868 03908618 03908714 03916031 03920288 03924679 03929660
03929855 03930313 03930630 03933933 03935335 03937543 03938244 03942813 03944341 03947888 03950228 03954731 03956157
03958227 03961711 03967562 03970156 03976467 03976657 03977966 03980874 03982430 03983396 03991062 03992509 03995372
03998194 04004767 04005630 04008634 04009552 04019541 04023962 04026417 04033901 04033995 04037443 04039381 04040759
04041544 04044716 04049303 04065272 04067472 04069434 04070727 04074963 04081281 04086273 04090263 04099969 04111531
04116512 04118538 04118776 04120489 04125021 04127249 04131690 04133789 04136333 04141076 04141327 04141975 04146614
04147183 04149813 04152593 04153751 04154565 04162706 04179913 04192698 04200800 04201297 04204238 04204347 04208210
04209133 04209239 04228054 04229816 04235860 04238763 04239074 04243546 04251144 04252077 04252225 04254120 04254680
04254777 04258138 04259630 04263257 04264628 04265275 04266014 04270147 04273569 04275548 04277352 04285008 04286575
04296562 04310018 04311004 04311174 04317175 04325704 04326547 04328186 04330267 04332243 04335435 04336792 04344873
04346328 04347754 04350905 04355338 04355933 04356056 04357314 04366367 04367480 04370456 04371430 04371774 04372370
04376876 04380533 04389033 04392985 04398044 04399382 04404412 04409515 04417672 04418357 04423845 04428191 04429376
04435653 04442312 04443257 04447861 04456115 04458633 04461696 04462240 04465501 04467665 04476259 04479046 04482393
04483307 04485082 04486054 04487081 04487394 04493381 04501370 04505470 04507155 04509417 04515003 04517823 04522168
04523525 04525038 04525305 04532106 04532670 04536866 04540053 04542943 04548280 04548362 04550184 04552348 04553703
04554684 04557648 04560804 04562935 04579145 04579432 04584207 04589890 04590129 04591157 04591713 04592741 04596742
04597913 04599235 04604644 04606251 04612504 04613696 06359193 06596364 06785654 06794110 06874185 07248320 07565083
07579787 07583066 07584110 07590611 07613480 07614500 07615774 07684084 07693725 07695742 07697313 07697537 07711569
07714571 07714990 07715103 07716358 07716906 07717410 07717556 07718472 07718747 07720875 07730033 07734744 07742313
07745940 07747607 07749582 07753113 07753275 07753592 07754684 07760859 07768694 07802026 07831146 07836838 07860988
07871810 07873807 07875152 07880968 07892512 07920052 07930864 07932039 09193705 09229709 09246464 09256479 09288635
09332890 09399592 09421951 09428293 09468604 09472597 09835506 10148035 10565667 11879895 11939491 12057211 12144580
12267677 12620546 12768682 12985857 12998815 13037406 13040303 13044778 13052670 13054560 13133613 15075141
"""
_IMAGENET_R = """
01443537 01484850 01494475 01498041 01514859 01518878 01531178 01534433 01614925 01616318 01630670 01632777 01644373
01677366 01694178 01748264 01770393 01774750 01784675 01806143 01820546 01833805 01843383 01847000 01855672 01860187
01882714 01910747 01944390 01983481 01986214 02007558 02009912 02051845 02056570 02066245 02071294 02077923 02085620
02086240 02088094 02088238 02088364 02088466 02091032 02091134 02092339 02094433 02096585 02097298 02098286 02099601
02099712 02102318 02106030 02106166 02106550 02106662 02108089 02108915 02109525 02110185 02110341 02110958 02112018
02112137 02113023 02113624 02113799 02114367 02117135 02119022 02123045 02128385 02128757 02129165 02129604 02130308
02134084 02138441 02165456 02190166 02206856 02219486 02226429 02233338 02236044 02268443 02279972 02317335 02325366
02346627 02356798 02363005 02364673 02391049 02395406 02398521 02410509 02423022 02437616 02445715 02447366 02480495
02480855 02481823 02483362 02486410 02510455 02526121 02607072 02655020 02672831 02701002 02749479 02769748 02793495
02797295 02802426 02808440 02814860 02823750 02841315 02843684 02883205 02906734 02909870 02939185 02948072 02950826
02951358 02966193 02980441 02992529 03124170 03272010 03345487 03372029 03424325 03452741 03467068 03481172 03494278
03495258 03498962 03594945 03602883 03630383 03649909 03676483 03710193 03773504 03775071 03888257 03930630 03947888
04086273 04118538 04133789 04141076 04146614 04147183 04192698 04254680 04266014 04275548 04310018 04325704 04347754
04389033 04409515 04465501 04487394 04522168 04536866 04552348 04591713 07614500 07693725 07695742 07697313 07697537
07714571 07714990 07718472 07720875 07734744 07742313 07745940 07749582 07753275 07753592 07768694 07873807 07880968
07920052 09472597 09835506 10565667 12267677
"""

IMAGENET_1K_WNIDS: tuple[str, ...] = tuple(f"n{offset}" for offset in _IMAGENET_1K.split())
IMAGENET_R_WNIDS: tuple[str, ...] = tuple(f"n{offset}" for offset in _IMAGENET_R.split())
LABELS: dict[str, int] = {wnid: label for label, wnid in enumerate(IMAGENET_1K_WNIDS)}
"""A wnid's label, 0 to 999."""
